import type * as z from 'zod';
import { GROUP } from '../labels-and-annotations.ts';
import type { LabelSelector } from './selection.ts';
import { withRules } from './text.ts';
import type { VmTemplate } from './vm-template.ts';

/**
 * Requires that the selector of a pool's spec, if present, matches the labels of its template, the field `template`.
 * Checked whenever these two are well-formed, whatever else is wrong.
 */
export function withOwnSelector<T extends z.ZodType>(schema: T, template: string): T {
  const sentence = `must match the labels of ${template}.metadata`;
  const labels = `self.${template}.metadata.labels`;
  const matched = `(has(self.${template}.metadata) && has(${labels}) && key in ${labels} && ${labels}[key] == self.selector.matchLabels[key])`;
  const checked = schema.refine(
    (spec) => {
      const { selector, [template]: vm } = spec as { selector?: LabelSelector; [field: string]: unknown };
      return selector === undefined || selectsTemplate(selector, vm as VmTemplate);
    },
    {
      error: sentence,
      path: ['selector'],
      when: ({ value, issues }) =>
        typeof value === 'object' &&
        value !== null &&
        issues.every(({ path }) => path?.[0] !== 'selector' && path?.[0] !== template),
    },
  );
  return withRules(checked, [
    '!has(self.selector) || !has(self.selector.matchLabels) || ' +
      `self.selector.matchLabels.all(key, key.startsWith('${GROUP}/') || ${matched})`,
    `selector ${sentence}`,
  ]);
}

/** Labels in drover's own group are set by the pool, and count as matched. */
const selectsTemplate = ({ matchLabels = {} }: LabelSelector, { metadata }: VmTemplate): boolean =>
  Object.entries(matchLabels).every(([key, value]) => key.startsWith(`${GROUP}/`) || metadata?.labels?.[key] === value);
