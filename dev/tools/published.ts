import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, fetch, type Response } from 'undici';
import type { Tool } from './catalog.ts';
import { findArchive, type Archive, type Sources } from './release-archives.ts';

interface PublishedOptions {
  sources: Sources;
  /** Downloads are kept below this folder until `dispose`. */
  folder: string;
  onProgress: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/** Short, because a tool can also be built. `body` is how long a download may stall. */
const TIMEOUTS_MS = { connect: 4000, headers: 8000, body: 15_000 };

/** Binaries from their projects' releases, verified against the published checksums. Fetches each archive once. */
export class PublishedBinaries {
  readonly #options: PublishedOptions;
  readonly #folder: string;
  readonly #unpacked = new Map<string, Promise<string | undefined>>();
  readonly #agent = new EnvHttpProxyAgent({
    connect: { timeout: TIMEOUTS_MS.connect },
    headersTimeout: TIMEOUTS_MS.headers,
    bodyTimeout: TIMEOUTS_MS.body,
  });

  constructor(options: PublishedOptions) {
    this.#options = options;
    this.#folder = mkdtempSync(join(options.folder, '.download-'));
  }

  /**
   * Returns the path of the binary, for the caller to move; undefined, after a line of progress, if it isn't available.
   * Throws if the disk is full or not writable, or on abort.
   */
  async fetch(tool: Tool): Promise<string | undefined> {
    const { project } = tool.published;
    if (!this.#unpacked.has(project)) this.#unpacked.set(project, this.#unpack(tool));
    const folder = await this.#unpacked.get(project);
    if (folder === undefined) return undefined;
    const files = await readdir(folder, { recursive: true });
    const file = files.find((path) => basename(path) === tool.name);
    return file === undefined ? undefined : join(folder, file);
  }

  async dispose(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#agent.destroy();
  }

  async #unpack(tool: Tool): Promise<string | undefined> {
    const { sources, onProgress, signal } = this.#options;
    const { project } = tool.published;
    try {
      const archive = await findArchive(tool, sources, async (url) => (await this.#get(url)).text());
      onProgress(`downloading ${basename(archive.url)}`);
      const file = join(this.#folder, `${project}.tar.gz`);
      await this.#download(archive, file);
      const folder = mkdtempSync(join(this.#folder, `${project}-`));
      await promisify(execFile)('tar', ['-xzf', file, '-C', folder]);
      return folder;
    } catch (error) {
      signal?.throwIfAborted();
      if (isAboutTheDisk(error)) throw error;
      onProgress(`no published ${tool.name} could be had from ${new URL(sources[project]).host} (${reasonOf(error)})`);
      return undefined;
    }
  }

  async #download({ url, algorithm, checksum }: Archive, file: string): Promise<void> {
    const { body } = await this.#get(url);
    if (body === null) throw new Error('the answer was empty');
    const hash = createHash(algorithm);
    const hashed = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    };
    await pipeline(body, hashed, createWriteStream(file));
    if (hash.digest('hex') !== checksum.toLowerCase())
      throw new Error(`${basename(url)} is not what its ${algorithm} checksum says`);
  }

  async #get(url: string): Promise<Response> {
    const response = await fetch(url, { dispatcher: this.#agent, signal: this.#options.signal ?? null });
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    return response;
  }
}

const isAboutTheDisk = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT', 'EACCES', 'EROFS'].includes(String((error as NodeJS.ErrnoException).code));

/** fetch puts the reason into `cause`. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
}
