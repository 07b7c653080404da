import { singleDocument } from '../../api/manifest/yaml-documents.ts';
import { whyNoChange } from '../../decisions/changes/why-no-change.ts';
import type { Json } from '../../decisions/lib/json.ts';
import { readManifestFiles } from '../apply/manifests.ts';
import { Failure, UsageError } from '../cli/failure.ts';
import { patchOfSets } from './set.ts';

/** Where a change comes from. */
export interface ChangeOptions {
  /** A file, or `-`. */
  patch?: string;
  /** `PATH=VALUE`. */
  set: string[];
}

/** Returns the change that was asked for. Throws `UsageError` or `Failure` if VMs can't be changed so. */
export async function patchOf({ patch: path, set }: ChangeOptions): Promise<Json> {
  if ((path === undefined) === (set.length === 0)) throw new UsageError('which change? Give --patch or --set');
  const patch = path === undefined ? patchOfSets(set) : await readPatch(path);
  const message = whyNoChange(patch);
  if (message !== null) throw path === undefined ? new UsageError(message) : new Failure(`${path}: ${message}`);
  return patch as Json;
}

async function readPatch(path: string): Promise<unknown> {
  const [file, another] = await readManifestFiles([path], false);
  if (another !== undefined) throw new Failure(`${path}: a change is one file, and this folder holds several`);
  const read = singleDocument(file!.text);
  if ('fault' in read) throw new Failure(`${file!.source}: ${read.fault}`);
  return read.value;
}
