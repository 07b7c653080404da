import { isDeepStrictEqual } from 'node:util';
import type { Stored } from '../../api/objects.ts';

/** Field manager of `drover apply`. */
export const APPLY_MANAGER = 'drover-apply';

export type Outcome = 'created' | 'configured' | 'unchanged';

/**
 * Returns what an apply did, judged by the object before and after it. A controller may write the status in between,
 * which is none of the apply's doing.
 */
export function outcomeOf(before: Stored | undefined, after: Stored): Outcome {
  if (before === undefined || before.metadata.uid !== after.metadata.uid) return 'created';
  return isDeepStrictEqual(contentOf(before), contentOf(after)) ? 'unchanged' : 'configured';
}

function contentOf({ status: _status, metadata, ...rest }: Stored & { status?: unknown }): object {
  const { managedFields: _managedFields, resourceVersion: _resourceVersion, ...content } = metadata;
  return { ...rest, metadata: content };
}
