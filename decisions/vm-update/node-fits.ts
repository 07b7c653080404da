import { field, isObject, listOf } from '../lib/json.ts';

type Labels = Readonly<Record<string, string>>;

/** Reports whether a node with these labels has what a pod's node selector and required node affinity ask for. */
export const nodeFits = (spec: unknown, labels: Labels): boolean => selects(spec, labels) && isAllowed(spec, labels);

function selects(spec: unknown, labels: Labels): boolean {
  const selector = field(spec, 'nodeSelector');
  return !isObject(selector) || Object.entries(selector).every(([key, value]) => labels[key] === value);
}

/** Any of the terms is enough; a term without expressions allows no node. */
function isAllowed(spec: unknown, labels: Labels): boolean {
  const required = field(spec, 'affinity', 'nodeAffinity', 'requiredDuringSchedulingIgnoredDuringExecution');
  if (!isObject(required)) return true;
  return listOf(required['nodeSelectorTerms']).some((term) => {
    const expressions = listOf(field(term, 'matchExpressions'));
    const fields = listOf(field(term, 'matchFields'));
    return (
      expressions.length + fields.length > 0 &&
      expressions.every((one) => matches(one, labels)) &&
      // Kubernetes knows one field of a node, its name, which is also this label.
      fields.every((one) => matches(one, { 'metadata.name': labels['kubernetes.io/hostname'] ?? '' }))
    );
  });
}

function matches(expression: unknown, labels: Labels): boolean {
  const value = labels[String(field(expression, 'key'))];
  const values = listOf(field(expression, 'values')).map(String);
  switch (field(expression, 'operator')) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && Number(value) < Number(values[0]);
    default:
      return false;
  }
}
