/** What the process that `--detach` started tells its starter. */
export type Word = { progress: string } | { failure: string } | { ready: { exports: string; temporalUi: string } };

/** Tells the starter something. Does nothing in the foreground, or after the starter has ended. */
export function notifyStarter(word: Word): void {
  if (process.connected) process.send?.(word, undefined, undefined, () => {});
}
