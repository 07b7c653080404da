const KEY = 'drover-address';

/** Loads the page again, so that the proxy asks the user to sign in. The user then comes back to this view. */
export function signInAgain(): void {
  sessionStorage.setItem(KEY, location.hash);
  location.reload();
}

/** Shows the view that was left to sign in: a sign-in elsewhere drops what its address has after `#`. */
export function comeBack(): void {
  const saved = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (saved !== null && location.hash === '') history.replaceState(null, '', saved);
}
