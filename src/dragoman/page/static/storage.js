// What the browser keeps for the page. Nothing is kept where the browser forbids it; the page works without.

const PREFIX = "dragoman.";

/** A value that was kept, or `otherwise`. */
export function kept(name, otherwise) {
  try {
    const found = localStorage.getItem(PREFIX + name);
    return found === null ? otherwise : JSON.parse(found);
  } catch {
    return otherwise;
  }
}

/** Keep a value; undefined forgets it. */
export function keep(name, value) {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // forbidden, or full
  }
}
