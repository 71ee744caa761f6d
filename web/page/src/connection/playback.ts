import { Store } from "../store";

// Browsers play no sound before somebody has touched the page: then the picture plays alone until they do.
export const isSilenced = new Store(false);

export async function play(video: HTMLVideoElement): Promise<void> {
  try {
    await video.play();
  } catch (error) {
    if (!(error instanceof DOMException) || error.name !== "NotAllowedError") return;
    video.muted = true;
    isSilenced.set(true);
    video.play().catch(() => {});
  }
}

export function playSound(video: HTMLVideoElement): void {
  video.muted = false;
  isSilenced.set(false);
  play(video);
}
