// The code of six digits that the host shows, as a person types it and as the host judges it.
const DIGITS = 6;

export type Judgement = { key: string } | { wrong: string };

export function digitsOf(typed: string): string | null {
  const digits = typed.replace(/\D/g, "");
  return digits.length === DIGITS ? digits : null;
}

export const TOO_SHORT = `The code has ${DIGITS} digits. Type all of them.`;

async function post(code: string): Promise<Response> {
  return fetch("/pair", { method: "POST", body: code });
}

// Asks the host to show a code.
export async function askForCode(): Promise<void> {
  const response = await post("");
  if (!response.ok) throw new Error((await response.text()).trim());
}

// What the host says of a code: this device's key, or what is wrong.
export async function judge(digits: string): Promise<Judgement> {
  try {
    const response = await post(digits);
    const text = (await response.text()).trim();
    return response.status === 201 ? { key: text } : { wrong: text };
  } catch {
    return { wrong: "The host does not answer. Is it running? Try again." };
  }
}
