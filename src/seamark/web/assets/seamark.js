/* What the browser does by itself: the theme, the keys, and telling that the worker is lost. */
(() => {
  const THEME = "seamark-theme";

  function chosenTheme() {
    try {
      return localStorage.getItem(THEME) || "auto";
    } catch {
      return "auto";
    }
  }

  function applyTheme() {
    const chosen = chosenTheme();
    const isDark = chosen === "dark" || (chosen === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = isDark ? "dark" : "light";
    if (window.Quasar?.Dark) Quasar.Dark.set(isDark);
    for (const select of document.querySelectorAll("[data-theme-select]")) select.value = chosen;
  }

  applyTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

  document.addEventListener("change", (event) => {
    if (event.target.matches?.("[data-go]")) return location.assign(event.target.value);
    if (!event.target.matches?.("[data-theme-select]")) return;
    localStorage.setItem(THEME, event.target.value);
    applyTheme();
  });

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable=true]");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    const search = document.querySelector("[data-search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select?.();
  });

  document.addEventListener("click", async (event) => {
    const logout = event.target.closest?.("[data-logout]");
    if (!logout) return;
    await fetch(logout.dataset.logout, { method: "DELETE" });
    location.assign(logout.dataset.logout.replace(/session$/, "login"));
  });

  document.addEventListener("submit", async (event) => {
    const form = event.target.closest?.("form[data-login]");
    if (!form) return;
    event.preventDefault();
    const { user, password, token } = Object.fromEntries(new FormData(form));
    const bytes = new TextEncoder().encode(`${user}:${password}`);
    const credentials = token ? `Bearer ${token}` : `Basic ${btoa(String.fromCharCode(...bytes))}`;
    const problem = form.querySelector("[role=alert]");
    try {
      const answer = await fetch(form.dataset.login, { method: "POST", headers: { Authorization: credentials } });
      if (answer.ok) return location.assign(form.dataset.next);
      const said = await answer.json().catch(() => ({}));
      problem.textContent = answer.status === 401 ? "Name or password is wrong." : said.message || `The worker answered ${answer.status}.`;
    } catch {
      problem.textContent = "The worker does not answer.";
    }
    problem.hidden = false;
  });

  if (location.pathname.endsWith("/ui/login")) {
    document.addEventListener("DOMContentLoaded", applyTheme);
    return;
  }

  /* While the connection is lost NiceGUI tries again by itself, and loads the page anew if its worker was restarted.
     Only a session that has ended is not noticed: so ask, and let the worker send us to where one logs in. */
  let lostAt = null;
  let asking = null;

  function lost() {
    const box = document.getElementById("sm-lost");
    if (lostAt !== null || !box) return;
    lostAt = new Date();
    box.querySelector(".sm-lost-since").textContent = ` at ${lostAt.toLocaleTimeString()}. `;
    box.hidden = false;
    document.body.classList.add("sm-is-lost");
    let answers = 0;
    asking = setInterval(async () => {
      try {
        const answer = await fetch(location.href, { redirect: "follow", headers: { "NiceGUI-Check": "lost" } });
        answers = answer.ok ? answers + 1 : 0;
        if (answers >= 2) location.reload();
      } catch {
        answers = 0;
      }
    }, 2000);
  }

  function found() {
    lostAt = null;
    clearInterval(asking);
    document.body.classList.remove("sm-is-lost");
    const box = document.getElementById("sm-lost");
    if (box) box.hidden = true;
  }

  const waiting = setInterval(() => {
    if (!window.socket) return;
    clearInterval(waiting);
    applyTheme();
    window.socket.io.reconnectionDelayMax(2000);
    window.socket.on("disconnect", lost);
    window.socket.on("connect", found);
    document.body.dataset.live = "true";
  }, 20);
})();
