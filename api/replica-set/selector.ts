import type * as z from 'zod';
import { LabelSelector } from '../pool/selection.ts';
import { rules } from '../pool/text.ts';
import type { VmTemplate } from '../pool/vm-template.ts';
import { matchesLabels } from '../rules/label-selector.ts';

const EMPTY = 'must name at least one label: an empty selector would match every VM of the namespace';
const FIXED = 'is immutable: create another set for another selector';
const MATCHES = 'must match the labels of template.metadata: the set would not know its VMs again';

/** A selector that says which VMs of the namespace are a set's. It never changes. */
export const Selector = LabelSelector.refine((selector) => !isEmpty(selector), EMPTY).meta(
  rules(
    [
      '(has(self.matchLabels) && size(self.matchLabels) > 0) || ' +
        '(has(self.matchExpressions) && size(self.matchExpressions) > 0)',
      EMPTY,
    ],
    ['self == oldSelf', FIXED],
  ),
);

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  Object.keys(matchLabels).length + matchExpressions.length === 0;

const LABELS = 'self.template.metadata.labels';
const HAS_LABELS = `has(self.template.metadata) && has(${LABELS})`;
const HAS_KEY = `(${HAS_LABELS} && e.key in ${LABELS})`;
const IS_LISTED = `(has(e.values) && ${LABELS}[e.key] in e.values)`;

/**
 * Requires that the selector of a set's spec matches the labels of its template. Checked whenever these two are
 * well-formed, whatever else is wrong.
 */
export const withMatchingSelector = <T extends z.ZodType>(schema: T): T =>
  schema
    .refine(
      (spec) => {
        const { selector, template } = spec as { selector: LabelSelector; template: VmTemplate };
        return matchesLabels(selector, template.metadata?.labels ?? {});
      },
      {
        error: MATCHES,
        path: ['selector'],
        when: ({ value, issues }) =>
          typeof value === 'object' &&
          value !== null &&
          'selector' in value &&
          'template' in value &&
          issues.every(({ path }) => path?.[0] !== 'selector' && path?.[0] !== 'template'),
      },
    )
    .meta(
      rules(
        [
          `!has(self.selector.matchLabels) || self.selector.matchLabels.all(key, ${HAS_LABELS} && key in ${LABELS} && ` +
            `${LABELS}[key] == self.selector.matchLabels[key])`,
          `selector ${MATCHES}`,
        ],
        [
          '!has(self.selector.matchExpressions) || self.selector.matchExpressions.all(e, ' +
            `e.operator == 'Exists' ? ${HAS_KEY} : e.operator == 'DoesNotExist' ? !${HAS_KEY} : ` +
            `e.operator == 'In' ? ${HAS_KEY} && ${IS_LISTED} : !(${HAS_KEY} && ${IS_LISTED}))`,
          `selector ${MATCHES}`,
        ],
      ),
    );
