export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const KEPT_BY_SERVER = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
];

/**
 * The document without what the API server keeps in it, so that the output of `kubectl get -o yaml` can be applied again:
 * its status, the server's own metadata, and metadata that is null, as in `creationTimestamp: null`.
 */
export function asWritten(document: Json): { object: Json; notes: string[] } {
  const { status, ...object } = document;
  const notes: string[] = [];
  if (isObject(status) && Object.keys(status).length > 0) notes.push('status is left out: drover writes it');
  if (isObject(object['metadata'])) {
    const { kept, dropped } = withoutServerFields(object['metadata']);
    object['metadata'] = kept;
    if (dropped.length > 0) notes.push(`metadata: ${dropped.join(', ')} left out: the API server keeps them`);
  }
  for (const key of ['template', 'virtualMachineTemplate']) {
    const template = isObject(object['spec']) ? object['spec'][key] : undefined;
    if (!isObject(template) || !isObject(template['metadata'])) continue;
    object['spec'] = { ...(object['spec'] as Json), [key]: { ...template, metadata: withoutNulls(template['metadata']) } };
  }
  return { object, notes };
}

function withoutServerFields(metadata: Json): { kept: Json; dropped: string[] } {
  const kept = withoutNulls(metadata);
  const dropped = KEPT_BY_SERVER.filter((key) => key in kept);
  for (const key of dropped) delete kept[key];
  if (isObject(kept['annotations']) && LAST_APPLIED in kept['annotations']) {
    const { [LAST_APPLIED]: _, ...annotations } = kept['annotations'];
    kept['annotations'] = annotations;
  }
  return { kept, dropped };
}

const withoutNulls = (metadata: Json): Json => Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null));
