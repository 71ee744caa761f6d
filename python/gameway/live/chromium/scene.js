// What a browser streams: a moving picture that no encoder can make small.
//
// Noise over the whole picture lies elsewhere in each frame, further away than an encoder looks for motion, so that nothing of it
// can be predicted from the frame before. White noise takes about as many bits as its amplitude over the quantizer's step
// says, 1 to 2 for each pixel at a fine one: 640x360 at 30 frames/s fill 8 Mb/s. So the encoder's rate control, and not the picture,
// says how large a frame is, and every frame is about as large. A bar and colours move below it, so that a person sees it run.
"use strict";

function makeScene({ width, height, seed }) {
  const NOISE_SHARE = 0.3;
  const BAR = 40;
  let state = seed >>> 0;
  // A generator that is the same everywhere: runs of one seed show the same pictures.
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  const surface = (across, down) => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [across, down];
    return [canvas, canvas.getContext("2d", { alpha: false })];
  };
  const [canvas, picture] = surface(width, height);
  const [tile, noise] = surface(2 * width, 2 * height);
  const grains = noise.createImageData(2 * width, 2 * height);
  for (let at = 0; at < grains.data.length; at += 4) {
    grains.data.fill(256 * random(), at, at + 3);
    grains.data[at + 3] = 255;
  }
  noise.putImageData(grains, 0, 0);

  return {
    canvas,
    draw(number) {
      picture.globalAlpha = 1;
      picture.fillStyle = `hsl(${number % 360} 50% 40%)`;
      picture.fillRect(0, 0, width, height);
      picture.fillStyle = "white";
      picture.fillRect((number * 4) % width, 0, BAR, height);
      picture.globalAlpha = NOISE_SHARE;
      picture.drawImage(tile, -Math.floor(width * random()), -Math.floor(height * random()));
      picture.globalAlpha = 1;
      picture.fillText(number, BAR, BAR);
    },
  };
}
