import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Failure } from '../cli/failure.ts';
import type { SupportFile } from './collect.ts';

const README = `What \`drover support-bundle\` has collected, for a user who helps with drover.

version.json             versions of drover, its workers and definitions, Temporal, KubeVirt and Kubernetes
doctor.json              what \`drover doctor\` has found
cluster/*.yaml           objects of drover and KubeVirt, and nodes
temporal/workflows.json  drover's workflows: their states and failures, not their histories
logs/*.log               the workers' logs
errors.txt               what could not be read, and why

Removed are what guests are set up with (user data, network data), annotations of others, texts of patches, certificates,
and long texts. Secrets and ConfigMaps were not read. Names of VMs, namespaces, nodes and users are in it.
`;

/** Writes a .tar.gz. Returns its size in bytes. Throws `Failure` if the file is there already or can't be written. */
export async function writeBundle(file: string, folder: string, files: readonly SupportFile[]): Promise<number> {
  const { packTar } = await import('modern-tar');
  const mtime = new Date();
  const entries = [{ path: 'README.txt', text: README }, ...files].map(({ path, text }) => {
    const body = new TextEncoder().encode(text);
    return { header: { name: `${folder}/${path}`, size: body.byteLength, mtime }, body };
  });
  const packed = await promisify(gzip)(await packTar(entries));
  try {
    // Only its owner reads it.
    await writeFile(file, packed, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' ? 'is there already: give another name' : `can't be written: ${message}`;
    throw new Failure(`${file} ${why}`, { cause: error });
  }
  return packed.byteLength;
}
