import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { extname, join, resolve, sep } from 'node:path';

/** A file of the page, as a browser takes it. */
interface Asset {
  type: string;
  body: string | Buffer;
}

/** Packages of npm that the page imports, by its import map: `/lib/<package>/<file>`. */
const PAGE_PACKAGES = ['lit-html'] as const;

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/** Where each part of an address is: in a clone in its folders, in the package in a folder beside the program. */
function rootsOf(): Record<string, string> {
  const here = import.meta.dirname;
  const built = [join(here, 'dashboard'), join(here, '..', 'dashboard')].find((folder) =>
    existsSync(join(folder, 'page', 'index.html')),
  );
  if (built !== undefined && !import.meta.url.endsWith('.ts'))
    return { page: join(built, 'page'), contract: join(built, 'contract'), lib: join(built, 'lib') };
  const own = join(here, '..');
  return { page: join(own, 'page'), contract: join(own, 'contract'), lib: resolve(own, '../../node_modules') };
}

/** The files of the page, read once. TypeScript is served as JavaScript: its types are blanked out. */
export class Assets {
  readonly #roots: Record<string, string>;
  readonly #known = new Map<string, Promise<Asset | null>>();

  constructor(roots: Record<string, string> = rootsOf()) {
    this.#roots = roots;
  }

  /** Returns null if there is no such file. `path`: such as `/page/app.ts`. */
  read(path: string): Promise<Asset | null> {
    const known = this.#known.get(path) ?? this.#read(path);
    this.#known.set(path, known);
    return known;
  }

  /** The page itself. */
  index(): Promise<Asset | null> {
    return this.read('/page/index.html');
  }

  /** Hashes of the inline scripts of the page, as CSP has them: its import map can be no file. */
  async inlineScripts(): Promise<string[]> {
    const html = String((await this.index())?.body ?? '');
    return [...html.matchAll(/<script(?![^>]*\bsrc=)[^>]*>(.*?)<\/script>/gs)].map(
      ([, text]) => `'sha256-${createHash('sha256').update(text!).digest('base64')}'`,
    );
  }

  async #read(path: string): Promise<Asset | null> {
    const [, part = '', ...names] = path.split('/');
    const root = Object.hasOwn(this.#roots, part) ? this.#roots[part] : undefined;
    const type = TYPES[extname(path)];
    if (root === undefined || type === undefined || names.length === 0) return null;
    const file = resolve(root, ...names);
    // A name of the address may not lead out of the folder, or to what the page does not import.
    if (!file.startsWith(`${resolve(root)}${sep}`) || names.some((name) => name === '' || name.startsWith('.')))
      return null;
    if (part === 'lib' && !PAGE_PACKAGES.some((name) => path.startsWith(`/lib/${name}/`))) return null;
    const body = await readFile(file).catch(() => null);
    if (body === null) return null;
    return { type, body: extname(path) === '.ts' ? withoutTypes(body.toString('utf8')) : body };
  }
}

/** Node calls this experimental, once in each process, and users can do nothing about it. */
function withoutTypes(text: string): string {
  const warn = Object.getOwnPropertyDescriptor(process, 'emitWarning')!;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(text);
  } finally {
    Object.defineProperty(process, 'emitWarning', warn);
  }
}
