"use strict";
// What this page shows the host to be let in: the token that its own link has as fragment (/#TOKEN). A fragment is sent to
// nobody, but stands in the address bar: it goes from there at once, and the tab keeps it for when it is loaded again.
const access = (() => {
  const KEPT = "gameway-token";
  // A browser that keeps nothing has none after it has loaded the page again.
  const kept = () => { try { return sessionStorage.getItem(KEPT); } catch { return null; } };
  const keep = (token) => { try { sessionStorage.setItem(KEPT, token); } catch { /* as above */ } };
  const fragment = decodeURIComponent(location.hash.slice(1));
  if (fragment) {
    keep(fragment);
    history.replaceState(null, "", location.pathname + location.search);
  }
  // Another link of this host in the same tab.
  addEventListener("hashchange", () => location.reload());
  return { token: fragment || kept() || "" };
})();
