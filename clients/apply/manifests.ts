import { createReadStream, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { utf8Text } from '../../api/lib/utf8-text.ts';
import type { ManifestFile } from '../../api/manifest/manifest.ts';
import { whyUnreadable } from '../../api/manifest/unreadable.ts';
import { Failure } from '../cli/failure.ts';

const MANIFEST = /\.(ya?ml|json)$/;

/** Reads the manifests that `-f` names: files, `-` for standard input, and folders, whose files are sorted by name. */
export async function readManifestFiles(paths: string[], recursive: boolean): Promise<ManifestFile[]> {
  const files: ManifestFile[] = [];
  for (const path of paths) {
    if (path === '-') files.push(await readText('standard input', process.stdin));
    else for (const file of filesAt(path, recursive)) files.push(await readText(file, createReadStream(file)));
  }
  return files;
}

function filesAt(path: string, recursive: boolean): string[] {
  if (/^https?:\/\//.test(path))
    throw new Failure(`${path}: drover does not read URLs; fetch it and give it as a file, or with \`-f -\``);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new Failure(`${path}: no such file or folder`);
  if (!stats.isDirectory()) return [whole(path)];
  const files = readdirSync(path, { recursive, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && MANIFEST.test(entry.name))
    .map((entry) => whole(join(entry.parentPath, entry.name)))
    .sort();
  if (files.length === 0)
    throw new Failure(
      `${path}: no .yaml, .yml or .json file in this folder${recursive ? '' : '; -R looks into those below it too'}`,
    );
  return files;
}

/** Returns the path of a file that refers to no other files. Throws `Failure` for one that does. */
function whole(path: string): string {
  if (!/^kustomization(\.ya?ml)?$/i.test(basename(path))) return path;
  const folder = dirname(path);
  throw new Failure(`${path}: drover does not build kustomizations: kubectl kustomize ${folder} | drover … -f -`);
}

/** More than the manifests of any fleet: a wrong file, or a device, must not fill the memory. */
const MOST_MIB = 64;

async function readText(source: string, stream: Readable): Promise<ManifestFile> {
  const chunks: Buffer[] = [];
  let left = MOST_MIB * 1024 * 1024;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      left -= chunk.length;
      if (left < 0) throw new Failure(`it is larger than ${MOST_MIB} MiB, so it can't be a manifest`);
    }
    return { source, text: utf8Text(Buffer.concat(chunks)) };
  } catch (error) {
    throw new Failure(`${source}: ${whyUnreadable(error)}`, { cause: error });
  }
}
