import { POD_REVISION_ANNOTATION, POOL_LABEL, REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import type { VmTemplate } from '../../api/pool/pool.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import type { VmiView } from '../../decisions/views/vmi.ts';
import { podPartsBetween } from '../../decisions/vm-update/pod-part.ts';

type Texts = Record<string, string>;
interface Metadata {
  labels?: Texts;
  annotations?: Texts;
}

/**
 * Returns a merge patch that takes the labels and annotations which a VMI got from one template to those of another;
 * others stay. It notes what the VMI's pod was made from, if that lacks something now.
 */
export function vmiMetadataPatch(
  pool: string,
  from: VmTemplate,
  to: VmTemplate,
  { pod, podRevision }: Pick<VmiView, 'pod' | 'podRevision'>,
): { labels: Record<string, string | null>; annotations?: Record<string, string | null> } {
  const before = metadataOf(from);
  const after = metadataOf(to);
  const lacks = podRevision === null && podPartsBetween(from, to).length > 0;
  const annotations = {
    ...changes(before.annotations, after.annotations),
    ...(pod !== null && lacks ? { [POD_REVISION_ANNOTATION]: `${revisionOf(from)}@${pod}` } : {}),
    ...(podRevision === revisionOf(to) ? { [POD_REVISION_ANNOTATION]: null } : {}),
  };
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
