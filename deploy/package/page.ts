import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { extname, join, resolve } from 'node:path';

const project = resolve(import.meta.dirname, '../..');
const PARTS = ['page', 'contract'] as const;

/**
 * Writes the page of `drover dashboard` into a new `folder`, as browsers take it: the same files under the same names,
 * so that addresses and imports stay as they are, without types. Returns a module of each package of npm that is in it.
 */
export function writePage(folder: string): string[] {
  for (const part of PARTS) cpSync(join(project, 'clients/dashboard', part), join(folder, part), { recursive: true });
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (extname(file) === '.ts') writeFileSync(file, stripTypeScriptTypes(readFileSync(file, 'utf8')));
  }
  const lit = join(project, 'node_modules/lit-html');
  const isWanted = (path: string): boolean =>
    !/\/(development|node)(\/|$)/.test(path.slice(lit.length)) && !/\.(map|d\.ts)$/.test(path);
  cpSync(lit, join(folder, 'lib/lit-html'), { recursive: true, filter: isWanted });
  return [join(lit, 'lit-html.js')];
}
