import { isObject, type Json } from './kept-by-server.ts';

/**
 * Returns the object without the name and namespace in the metadata of its template, the field `field` of its spec:
 * KubeVirt accepts and ignores them.
 */
export function withoutVmName(
  object: Json,
  { field, because }: { field: 'template' | 'virtualMachineTemplate'; because: string },
  notes: string[],
): Json {
  const spec = object['spec'];
  const template = isObject(spec) ? spec[field] : undefined;
  if (!isObject(spec) || !isObject(template) || !isObject(template['metadata'])) return object;
  const { name, generateName, namespace, ...metadata } = template['metadata'];
  if ([name, generateName, namespace].some((value) => value !== undefined)) {
    notes.push(`spec.${field}.metadata: name and namespace are left out: ${because}`);
  }
  return { ...object, spec: { ...spec, [field]: { ...template, metadata } } };
}
