import { REQUESTED_BY_ANNOTATION } from '../labels-and-annotations.ts';

export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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
 * Returns the document without the fields that the API server and drover maintain, so that the output of `kubectl get
 * -o yaml` can be applied again: without its status, the server's own metadata, and null metadata such as
 * `creationTimestamp: null`.
 */
export function withoutKeptByServer(document: Json): { object: Json; notes: string[] } {
  const { status, ...object } = document;
  const notes: string[] = [];
  if (isObject(status) && Object.keys(status).length > 0) notes.push('status is left out: drover writes it');
  if (isObject(object['metadata'])) {
    const { kept, dropped, namesRequester } = withoutServerFields(object['metadata']);
    object['metadata'] = kept;
    if (dropped.length > 0) notes.push(`metadata: ${dropped.join(', ')} left out: the API server keeps them`);
    if (namesRequester)
      notes.push(
        `metadata.annotations: ${REQUESTED_BY_ANNOTATION} is left out: drover writes it, from the user or from $DROVER_REQUESTED_BY`,
      );
  }
  for (const key of ['template', 'virtualMachineTemplate']) {
    const template = isObject(object['spec']) ? object['spec'][key] : undefined;
    if (!isObject(template) || !isObject(template['metadata'])) continue;
    object['spec'] = {
      ...(object['spec'] as Json),
      [key]: { ...template, metadata: withoutNulls(template['metadata']) },
    };
  }
  return { object, notes };
}

function withoutServerFields(metadata: Json): { kept: Json; dropped: string[]; namesRequester: boolean } {
  const kept = withoutNulls(metadata);
  const dropped = KEPT_BY_SERVER.filter((key) => key in kept);
  for (const key of dropped) delete kept[key];
  if (!isObject(kept['annotations'])) return { kept, dropped, namesRequester: false };
  const { [LAST_APPLIED]: _, [REQUESTED_BY_ANNOTATION]: requester, ...annotations } = kept['annotations'];
  kept['annotations'] = annotations;
  return { kept, dropped, namesRequester: requester !== undefined };
}

const withoutNulls = (metadata: Json): Json =>
  Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null));
