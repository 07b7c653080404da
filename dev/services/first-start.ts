import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceSpec } from '../process/service.ts';

/**
 * Lets a server begin anew if its first start was cut off. Temporal makes the tables of its database only when the file
 * is not there, and etcd its first member only when its log is not there: what a cut-off start leaves, neither mends.
 * A mark beside `store`, which is a file or folder in `data`, says until the server is ready that the store holds
 * nothing yet. A start that finds the mark removes the store. A store without a mark is never touched.
 */
export function firstStart(data: string, store: string): Required<Pick<ServiceSpec, 'beforeStart' | 'onceReady'>> {
  const mark = `${store}.unfinished`;
  /** A database's journal has the name of its file with something behind. */
  const parts = (): string[] =>
    readdirSync(data).filter((name) => name !== mark && (name === store || name.startsWith(`${store}-`)));
  return {
    beforeStart: () => {
      if (existsSync(join(data, mark)))
        for (const name of parts()) rmSync(join(data, name), { recursive: true, force: true });
      if (!existsSync(join(data, store))) writeFileSync(join(data, mark), '');
    },
    onceReady: () => rmSync(join(data, mark), { force: true }),
  };
}
