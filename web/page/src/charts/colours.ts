import { useEffect, useState } from "preact/hooks";

export interface Colours {
  text: string;
  grid: string;
}

const light = matchMedia("(prefers-color-scheme: light)");

// A canvas has no style sheet: these are its colours of page.css.
const read = (): Colours => (light.matches ? { text: "#222", grid: "#0002" } : { text: "#ddd", grid: "#fff2" });

export function useColours(): Colours {
  const [colours, setColours] = useState(read);
  useEffect(() => {
    const onChange = () => setColours(read());
    light.addEventListener("change", onChange);
    return () => light.removeEventListener("change", onChange);
  }, []);
  return colours;
}
