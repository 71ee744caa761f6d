// A picture that is shown, as a measurement sees it, whatever shows it. Times are milliseconds of the page's clock.
import type { Screen } from "../screen/screen";
import type { Pixels } from "./card";

export interface ObservedPicture extends Pixels {
  // As on the wire.
  rtpTimestamp: number;
  // When its last packet had come.
  received: number;
  // How long the decoder had it, in milliseconds.
  decoding: number;
  // When it was given to the page's composition.
  presented: number;
  // When it is on the display, as far as the browser knows.
  displayed: number;
}

// Tells of each picture from now on, until what is returned is called.
export type Observe = (told: (picture: ObservedPicture) => void) => () => void;

// What a screen shows, whichever way it comes, where the browser tells when its last packet came.
export const onScreen =
  (screen: Screen): Observe =>
  (told) =>
    screen.onDrawn((source, rtpTimestamp, displayed, picture) => {
      const { arrived: received, decoding, presented, width, height } = picture;
      if (received === undefined) return;
      told({ source, width, height, rtpTimestamp, received, decoding, presented, displayed });
    });
