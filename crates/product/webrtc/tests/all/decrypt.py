"""Decrypts recorded SRTP and SRTCP packets with libsrtp and writes them as a pcap file.

decrypt.py PACKETS PCAP: the first line is the profile, the second and third key and salt of the
host and of the client in hexadecimal, each further one `host` or `client` and a packet. RTP goes
to port 5004, RTCP to 5005.
"""

import struct
import sys
from pathlib import Path

from pylibsrtp import Policy, Session

PROFILES = {
    "SRTP_AES128_CM_HMAC_SHA1_80": Policy.SRTP_PROFILE_AES128_CM_SHA1_80,
    "SRTP_AEAD_AES_128_GCM": Policy.SRTP_PROFILE_AEAD_AES_128_GCM,
    "SRTP_AEAD_AES_256_GCM": Policy.SRTP_PROFILE_AEAD_AES_256_GCM,
}


def session(key: str, profile: str) -> Session:
    """A session that takes any stream of one side."""
    return Session(
        Policy(
            key=bytes.fromhex(key),
            ssrc_type=Policy.SSRC_ANY_INBOUND,
            srtp_profile=PROFILES[profile],
        )
    )


def datagram(payload: bytes, port: int) -> bytes:
    """The payload in UDP and IPv4, without checksums."""
    udp = struct.pack("!HHHH", port, port, 8 + len(payload), 0) + payload
    addresses = bytes([10, 77, 0, 1, 10, 78, 0, 1])
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + addresses + udp


def main() -> None:
    """Reads, decrypts, writes."""
    source, target = sys.argv[1:]
    text = Path(source).read_text(encoding="ascii")
    profile, host, client, *packets = text.split("\n")
    sides = {"host": session(host, profile), "client": session(client, profile)}
    with Path(target).open("wb") as pcap:
        # Raw IPv4 packets.
        pcap.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 228))
        for number, line in enumerate(filter(None, packets)):
            side, digits = line.split(" ")
            packet = bytes.fromhex(digits)
            is_rtcp = 192 <= packet[1] <= 223
            if is_rtcp:
                frame = datagram(sides[side].unprotect_rtcp(packet), 5005)
            else:
                frame = datagram(sides[side].unprotect(packet), 5004)
            pcap.write(struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame)


main()
