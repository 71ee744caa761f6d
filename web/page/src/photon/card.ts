// The number of the test card in a picture: crates/product/desktop/src/card.rs has its cells and why they are as they are.
const CELLS = 16;
// Of the height, in the middle of the row of cells.
const TOP = 7 / 16;
const HEIGHT = 1 / 8;
// As far from dark as from bright.
const MIDDLE = 128;
const DOUBTFUL = 48;

const check = (gray: number) => ((gray ^ (gray >> 4)) & 15) ^ 5;

// Of a cell's brightness each, from 0 to 255; `null` if they show no number.
export function numberOf(cells: readonly number[]): number | null {
  if (cells.length !== CELLS || cells.some((cell) => Math.abs(cell - MIDDLE) < DOUBTFUL)) return null;
  const word = cells.reduce((bits, cell) => (bits << 1) | (cell > MIDDLE ? 1 : 0), 0);
  const gray = (word >> 6) & 255;
  const isWhole = word >> 14 === 0b10 && (word & 3) === 0b01 && ((word >> 2) & 15) === check(gray);
  if (!isWhole) return null;
  return [1, 2, 4].reduce((number, shift) => number ^ (number >> shift), gray);
}

export interface Pixels {
  source: CanvasImageSource;
  width: number;
  height: number;
}

// Reads numbers out of pictures, by a pixel of each cell.
export class CardReader {
  readonly #context = new OffscreenCanvas(CELLS, 1).getContext("2d", { willReadFrequently: true });

  read({ source, width, height }: Pixels): number | null {
    const context = this.#context;
    if (context === null || width === 0) return null;
    // The pixel in the middle of a cell: what smooths mixes cells.
    context.imageSmoothingEnabled = false;
    context.drawImage(source, 0, TOP * height, width, HEIGHT * height, 0, 0, CELLS, 1);
    const { data } = context.getImageData(0, 0, CELLS, 1);
    return numberOf([...Array(CELLS).keys()].map((cell) => data[4 * cell + 1] ?? 0));
  }
}
