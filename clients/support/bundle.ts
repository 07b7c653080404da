import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Failure } from '../cli/failure.ts';
import { printNote, print } from '../cli/print.ts';
import type { WorkerAccount } from '../doctor/rights.ts';
import type { Work } from '../session/session.ts';
import { collect, type SupportFile } from './collect.ts';

const README = `What \`drover support-bundle\` has collected, for a user who helps with drover.

version.json             versions of drover, its workers and definitions, Temporal, KubeVirt and Kubernetes
doctor.json              what \`drover doctor\` has found
cluster/*.yaml           objects of drover and KubeVirt, and nodes
temporal/workflows.json  drover's workflows: their states and failures, not their histories
logs/*.log               the workers' logs
errors.txt               what could not be read, and why

Removed are what guests are set up with (user data, network data), variables and arguments of containers, headers,
passwords and queries of URLs, annotations of others, texts of patches, certificates, and long texts. Secrets and ConfigMaps were not read. Names of VMs, namespaces, nodes and users are in it.
`;

/** Writes what explains a trouble with drover. Throws `Failure` if no server answers. */
export const supportBundle: Work<{ worker: WorkerAccount }> = async (session, { worker }, file?: string) => {
  const { namespace } = session.globals;
  const files = await collect(session, { namespace, worker });
  if (files.every(({ path }) => !path.startsWith('cluster/') && !path.startsWith('temporal/')))
    throw new Failure('neither the API server nor Temporal answers: `drover doctor` says why');
  const time = new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  const path = file ?? `drover-support-${time}.tar.gz`;
  const bytes = await writeBundle(path, basename(path).replace(/(\.tar)?\.t?gz$/, ''), files);
  const errors = files.find(({ path }) => path === 'errors.txt');
  if (errors !== undefined)
    printNote(`not everything could be read; errors.txt in it says what:\n${errors.text.trim()}`);
  print(`${path} written: ${files.length + 1} files, ${Math.ceil(bytes / 1024)} KiB; review it before you share it`);
};

/** Writes a .tar.gz. Returns its size in bytes. Throws `Failure` if the file is there already or can't be written. */
async function writeBundle(file: string, folder: string, files: readonly SupportFile[]): Promise<number> {
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
    const fault = code === 'EEXIST' ? 'is there already: give another name' : `can't be written: ${message}`;
    throw new Failure(`${file} ${fault}`, { cause: error });
  }
  return packed.byteLength;
}
