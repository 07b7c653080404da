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
  const [{ parse }, [file]] = await Promise.all([import('yaml'), readManifestFiles([path], false)]);
  try {
    return parse(file!.text);
  } catch (error) {
    throw new Failure(`${path}: ${(error as Error).message.split('\n')[0]}`, { cause: error });
  }
}
