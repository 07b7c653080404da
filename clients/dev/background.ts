/** What the process that `--detach` started tells the one that waits for it. */
export type Word = { progress: string } | { failure: string } | { ready: { exports: string; temporalUi: string } };

/** Does nothing where nobody waits: in the foreground, or once the starter is gone. */
export function tellStarter(word: Word): void {
  if (process.connected) process.send?.(word, undefined, undefined, () => {});
}
