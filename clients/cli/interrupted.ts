import { printNote } from './print.ts';

const notes = new Set<() => string>();

const printAll = (): void => {
  for (const note of notes) printNote(`\n${note()}`);
};

/** Has Ctrl-C say what continues without the command, until this is disposed. */
export function whenInterrupted(note: () => string): Disposable {
  if (notes.size === 0) process.prependListener('SIGINT', printAll);
  notes.add(note);
  return {
    [Symbol.dispose]: () => {
      notes.delete(note);
      if (notes.size === 0) process.off('SIGINT', printAll);
    },
  };
}
