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
  return OPERATORS.get(String(field(expression, 'operator')))?.(value, values) ?? false;
}

/** Kubernetes' operators of a node selector. */
const OPERATORS = new Map<string, (value: string | undefined, values: readonly string[]) => boolean>([
  ['In', (value, values) => value !== undefined && values.includes(value)],
  ['NotIn', (value, values) => value === undefined || !values.includes(value)],
  ['Exists', (value) => value !== undefined],
  ['DoesNotExist', (value) => value === undefined],
  ['Gt', (value, values) => value !== undefined && Number(value) > Number(values[0])],
  ['Lt', (value, values) => value !== undefined && Number(value) < Number(values[0])],
]);
