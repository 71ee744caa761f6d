// What the browser lacks for pictures that are decoded here; empty if nothing.
export function lackOf(window: object): string {
  if (!("RTCRtpScriptTransform" in window)) return "this browser hands out no encoded pictures";
  if (!("VideoDecoder" in window)) return "this browser decodes no pictures for pages, or only over HTTPS";
  return "OffscreenCanvas" in window ? "" : "this browser draws in no worker";
}
