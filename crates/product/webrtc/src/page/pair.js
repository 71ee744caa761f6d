"use strict";
// What this page shows the host to be let in. There are two kinds:
// - the token of a link (/#TOKEN). A fragment is sent to nobody, but stands in the address bar: it goes from there at once, and
//   the tab keeps it for when the page is loaded again;
// - else a key of this device's own, which the browser keeps for this host. A device that has none gets it for the code of six
//   digits that the host shows.
const access = (() => {
  const TOKEN = "gameway-token", KEY = "gameway-key";
  const DIGITS = 6;
  // A browser that keeps nothing has none after it has loaded the page again.
  const kept = (store, name) => { try { return store().getItem(name); } catch { return null; } };
  const keep = (store, name, value) => { try { store().setItem(name, value); } catch { /* as above */ } };
  const forget = (store, name) => { try { store().removeItem(name); } catch { /* as above */ } };
  const tab = () => sessionStorage, browser = () => localStorage;

  // A fragment that is no text in escapes is no token of a host's either.
  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
  let token = decoded(location.hash.slice(1));
  // Behind it a link for programs has the certificate, which the browser has judged by itself.
  if (location.protocol === "https:") token = token.replace(/\.[0-9a-f]{64}$/, "");
  if (token) {
    keep(tab, TOKEN, token);
    history.replaceState(null, "", location.pathname + location.search);
  }
  token ||= kept(tab, TOKEN);
  let key = token ? null : kept(browser, KEY);
  // Another link of this host in the same tab.
  addEventListener("hashchange", () => location.reload());

  // Posts a code; without one the host is asked to show one.
  const post = async (code) => {
    const response = await fetch("/pair", { method: "POST", body: code });
    return { ok: response.ok, status: response.status, text: (await response.text()).trim() };
  };

  const element = (name, properties) => Object.assign(document.createElement(name), properties);

  function form() {
    const label = element("label", { htmlFor: "code", textContent: "Type the six-digit code that the host shows" });
    const code = element("input", {
      id: "code", inputMode: "numeric", autocomplete: "one-time-code", required: true, maxLength: 20,
    });
    const why = element("p", { id: "why" });
    why.setAttribute("role", "alert");
    code.setAttribute("aria-describedby", "why");
    const made = element("form", { id: "pair", noValidate: true });
    made.append(label, code, element("button", { type: "submit", textContent: "Pair this device" }), why);
    return { made, code, why };
  }

  // Asks the person for the code until one is right; `reason` says why, if this device had a key.
  async function pair(reason) {
    const wanted = await post("");
    if (!wanted.ok) throw new Error(wanted.text);
    const { made, code, why } = form();
    const tell = (text) => {
      why.textContent = text;
      code.setAttribute("aria-invalid", String(text !== ""));
    };
    tell(reason);
    document.body.prepend(made);
    code.focus();
    return new Promise((fulfil) => {
      made.onsubmit = async (event) => {
        event.preventDefault();
        const digits = code.value.replace(/\D/g, "");
        if (digits.length !== DIGITS) return tell(`The code has ${DIGITS} digits. Type all of them.`);
        const button = made.querySelector("button");
        button.disabled = true;
        const answer = await post(digits).catch(() => ({ text: "The host does not answer. Is it running? Try again." }));
        button.disabled = false;
        if (answer.status === 201) {
          made.remove();
          return fulfil(answer.text);
        }
        tell(answer.text);
        code.select();
        code.focus();
      };
    });
  }

  let reason = "";
  return {
    // What to show. It may take as long as a person takes to type.
    async secret() {
      if (token || key) return token || key;
      key = await pair(reason);
      keep(browser, KEY, key);
      return key;
    },
    // The host did not take it: then the other kind is shown, and at last the person is asked.
    refused() {
      if (token) {
        token = null;
        forget(tab, TOKEN);
        key = kept(browser, KEY);
        reason = "This link is not valid any more. Type the code, or open the host's new link.";
      } else {
        key = null;
        forget(browser, KEY);
        reason = "This device is not paired any more. Type the code to pair it again.";
      }
    },
  };
})();
