import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceSpec } from '../process/service.ts';

/**
 * Lets a server start over if its first start was interrupted. Temporal creates its database tables only if the file
 * doesn't exist, and etcd its first member only if its log doesn't exist. Neither repairs what an interrupted start
 * leaves.
 * While a mark lies beside `store`, a file or folder in `data`, the store doesn't hold anything of value yet. The mark
 * is removed once the server is ready. A start that finds the mark removes the store. A store without a mark is never
 * touched.
 */
export function firstStart(data: string, store: string): Required<Pick<ServiceSpec, 'beforeStart' | 'onceReady'>> {
  const marker = `${store}.unfinished`;
  /** A database's journal has the file's name plus a suffix. */
  const parts = (): string[] =>
    readdirSync(data).filter((name) => name !== marker && (name === store || name.startsWith(`${store}-`)));
  return {
    beforeStart: () => {
      if (existsSync(join(data, marker)))
        for (const name of parts()) rmSync(join(data, name), { recursive: true, force: true });
      if (!existsSync(join(data, store))) writeFileSync(join(data, marker), '');
    },
    onceReady: () => rmSync(join(data, marker), { force: true }),
  };
}
