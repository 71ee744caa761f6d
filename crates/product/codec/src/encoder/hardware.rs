//! Encoders in hardware: which there are, and what each needs of a machine.
//!
//! libavcodec has them all ([`super::libav`]); a build without the feature `libav` has none, and says so.
//!
//! | constant | value | origin |
//! |---|---|---|
//! | order | nvenc, qsv, vaapi, amf | the maker's own way before the common one, but for AMD's, which few have a libavcodec for |
//! | devices | `/dev/nvidiactl` or `/dev/dxg`, `/dev/dri/renderD*`, `/dev/video*` | NVIDIA's driver, and that of WSL; the kernel's DRM; its V4L2 |

use super::{EncoderConfig, VideoEncoder, open};
use gameway_units::VideoCodec;
use std::path::PathBuf;

/// A kind of encoder in hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hardware {
    /// NVIDIA's NVENC.
    Nvenc,
    /// Intel's Quick Sync Video.
    Qsv,
    /// Any card's by VA-API.
    Vaapi,
    /// AMD's Advanced Media Framework.
    Amf,
    /// The kernel's V4L2 memory to memory.
    V4l2m2m,
}

impl Hardware {
    /// Those that are tried where nobody named one, in this order. V4L2 is not among them: what most of its drivers make
    /// of a picture comes with the next one.
    pub const TRIED: [Self; 4] = [Self::Nvenc, Self::Qsv, Self::Vaapi, Self::Amf];

    /// What [`open`] and libavcodec call its encoder of a codec.
    #[must_use]
    pub fn name(self, codec: VideoCodec) -> &'static str {
        match (codec, self) {
            (VideoCodec::H264, Self::Nvenc) => "h264_nvenc",
            (VideoCodec::H264, Self::Qsv) => "h264_qsv",
            (VideoCodec::H264, Self::Vaapi) => "h264_vaapi",
            (VideoCodec::H264, Self::Amf) => "h264_amf",
            (VideoCodec::H264, Self::V4l2m2m) => "h264_v4l2m2m",
            (VideoCodec::H265, Self::Nvenc) => "hevc_nvenc",
            (VideoCodec::H265, Self::Qsv) => "hevc_qsv",
            (VideoCodec::H265, Self::Vaapi) => "hevc_vaapi",
            (VideoCodec::H265, Self::Amf) => "hevc_amf",
            (VideoCodec::H265, Self::V4l2m2m) => "hevc_v4l2m2m",
        }
    }

    /// Device files of this machine through which it may be reached, sorted.
    #[must_use]
    pub fn devices(self) -> Vec<PathBuf> {
        match self {
            Self::Nvenc => [files("/dev", "nvidiactl"), files("/dev", "dxg")].concat(),
            Self::Qsv | Self::Vaapi | Self::Amf => files("/dev/dri", "renderD"),
            Self::V4l2m2m => files("/dev", "video"),
        }
    }

    /// What it needs, for messages.
    #[must_use]
    pub fn needs(self) -> &'static str {
        match self {
            Self::Nvenc => {
                "it needs an NVIDIA card, the driver's libcuda.so.1 and libnvidia-encode.so.1, and one of the \
                 sessions that the driver allows"
            }
            Self::Qsv => {
                "it needs an Intel card, a /dev/dri/renderD* that you may open (group render), and Intel's \
                 libraries (packages libmfx1 or libmfx-gen1.2, intel-media-va-driver)"
            }
            Self::Vaapi => {
                "it needs a /dev/dri/renderD* that you may open (group render), and a VA-API driver that \
                 encodes (packages mesa-va-drivers, intel-media-va-driver; vainfo lists VAEntrypointEncSlice)"
            }
            Self::Amf => {
                "it needs an AMD card, AMD's libamfrt64.so.1, and a libavcodec that was built with AMF, as \
                 Debian's and Ubuntu's are not: there take vaapi"
            }
            Self::V4l2m2m => {
                "it needs a /dev/video* that encodes, and gives a frame before it is given the next one"
            }
        }
    }
}

/// Opens the first encoder in hardware that works here, if any does; quietly.
#[must_use]
pub fn open_hardware(codec: VideoCodec, config: EncoderConfig) -> Option<Box<dyn VideoEncoder>> {
    let here = Hardware::TRIED.into_iter().filter(|hardware| !hardware.devices().is_empty());
    here.filter_map(|hardware| open(hardware.name(codec), config).ok()).next()
}

/// Files of a folder whose names begin so.
fn files(folder: &str, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let named = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix)));
    let mut found: Vec<_> = named.map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_beginning_and_sorted() {
        let names = |folder, prefix| -> Vec<_> {
            files(folder, prefix).iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(names("/dev", "nul"), ["/dev/null"]);
        assert_eq!(names("/dev", "no such file"), [""; 0]);
        assert_eq!(names("/no such folder", ""), [""; 0]);
    }
}
