/** How often and for how long tests poll, in milliseconds: what a page shows comes after what it was sent. */
export const POLL = { interval: 50, timeout: 30_000 };
