import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ManifestFile } from '../../api/manifest/manifest.ts';
import { whyUnreadable } from '../../api/manifest/unreadable.ts';
import { Failure } from '../cli/failure.ts';

const MANIFEST = /\.(ya?ml|json)$/;

/** Reads the manifests that `-f` names: files, `-` for standard input, and folders, whose files are sorted by name. */
export async function readManifestFiles(paths: string[], recursive: boolean): Promise<ManifestFile[]> {
  const files: ManifestFile[] = [];
  for (const path of paths) {
    if (path === '-') files.push({ source: 'standard input', text: await readStandardInput() });
    else for (const file of filesAt(path, recursive)) files.push({ source: file, text: readText(file) });
  }
  return files;
}

function filesAt(path: string, recursive: boolean): string[] {
  if (/^https?:\/\//.test(path))
    throw new Failure(`${path}: drover does not read URLs; fetch it and give it as a file, or with \`-f -\``);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new Failure(`${path}: no such file or folder`);
  if (!stats.isDirectory()) return [path];
  const files = readdirSync(path, { recursive, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && MANIFEST.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (files.length === 0)
    throw new Failure(
      `${path}: no .yaml, .yml or .json file in this folder${recursive ? '' : '; -R looks into those below it too'}`,
    );
  return files;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Failure(`${file}: ${whyUnreadable(error)}`, { cause: error });
  }
}

async function readStandardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
