import { POOL_LABEL, REVISION_LABEL } from '../../api/names.ts';
import type { VmTemplate } from '../../api/pool/pool.ts';
import { revisionOf } from '../../decisions/revisions/hash.ts';

type Texts = Record<string, string>;
interface Metadata {
  labels?: Texts;
  annotations?: Texts;
}

/**
 * Returns a merge patch that takes the labels and annotations which a VMI got from one template to those of another;
 * others stay.
 */
export function vmiMetadataPatch(
  pool: string,
  from: VmTemplate,
  to: VmTemplate,
): { labels: Record<string, string | null>; annotations?: Record<string, string | null> } {
  const before = metadataOf(from);
  const after = metadataOf(to);
  const annotations = changes(before.annotations, after.annotations);
  return {
    labels: { ...changes(before.labels, after.labels), [POOL_LABEL]: pool, [REVISION_LABEL]: revisionOf(to) },
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

const metadataOf = ({ spec }: VmTemplate): Metadata => (spec.template as { metadata?: Metadata }).metadata ?? {};

function changes(before: Texts = {}, after: Texts = {}): Record<string, string | null> {
  const gone = Object.keys(before).filter((key) => !(key in after));
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...after };
}
