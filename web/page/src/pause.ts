// Fulfilled after so many milliseconds.
export const pause = (span: number) => new Promise<void>((resolve) => setTimeout(resolve, span));
