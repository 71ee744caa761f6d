// The token of a link, /#TOKEN.

// A fragment that is no text in escapes is no token of a host's either.
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function tokenOf({ hash, protocol }: Pick<Location, "hash" | "protocol">): string {
  const token = decoded(hash.slice(1));
  // Behind it a link for programs has the certificate, which the browser has judged by itself.
  return protocol === "https:" ? token.replace(/\.[0-9a-f]{64}$/, "") : token;
}
