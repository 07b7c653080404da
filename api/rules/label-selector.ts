import type { LabelSelector } from '../pool/selection.ts';

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

/** Follows Kubernetes' rule: every label and every expression must match; an empty selector matches everything. */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  for (const [key, value] of Object.entries(matchLabels)) if (labels[key] !== value) return false;
  return matchExpressions.every((expression) => matchesExpression(expression, labels[expression.key]));
}

function matchesExpression({ operator, values = [] }: Expression, value: string | undefined): boolean {
  if (operator === 'Exists') return value !== undefined;
  if (operator === 'DoesNotExist') return value === undefined;
  const isIn = value !== undefined && values.includes(value);
  return operator === 'In' ? isIn : !isIn;
}
