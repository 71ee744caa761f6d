// Quantities as the gateway's program writes them in a terminal.

export function rate(bps: number): string {
  const mbps = bps / 1e6;
  return mbps < 10 ? `${mbps.toFixed(2)} Mb/s` : `${mbps.toFixed(1)} Mb/s`;
}

export function millis(value: number): string {
  return value < 10 ? `${value.toFixed(1)} ms` : `${value.toFixed(0)} ms`;
}

export function size(bytes: number): string {
  const kilobytes = bytes / 1e3;
  if (kilobytes < 10) return `${kilobytes.toFixed(1)} kB`;
  return kilobytes < 1000 ? `${kilobytes.toFixed(0)} kB` : `${(kilobytes / 1e3).toFixed(2)} MB`;
}

// In the two largest units.
export function span(seconds: number): string {
  const whole = Math.max(Math.trunc(seconds), 0);
  const [days, hours] = [Math.trunc(whole / 86_400), Math.trunc(whole / 3600) % 24];
  const minutes = Math.trunc(whole / 60) % 60;
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

export function count(number: number): string {
  return number.toLocaleString("en");
}

export function counted(number: number, word: string): string {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}
