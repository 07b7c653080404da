import { CHANGE_CAUSE_ANNOTATION, REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { ObjectMeta } from '../../api/objects.ts';
import { requesterOf } from '../../api/requested-by.ts';

type SpecMetadata = Pick<ObjectMeta, 'annotations' | 'generation'>;

/**
 * Returns who has paused, resumed or aborted an operation; undefined if they did not say so with its present spec. A
 * policy sees to it that users name themselves when they change an operation, and not when they make one.
 */
export const specRequester = ({ annotations, generation = 0 }: SpecMetadata): string | undefined =>
  generation < 2 ? undefined : requesterOf(annotations?.[REQUESTED_BY_ANNOTATION], String(generation));

/** Returns who has asked for that, and why; `otherwise` if the operation says neither. */
export function whyAsked(metadata: SpecMetadata, otherwise: string): string {
  const who = specRequester(metadata);
  const parts = [who === undefined ? '' : `asked by ${who}`, metadata.annotations?.[CHANGE_CAUSE_ANNOTATION] ?? ''];
  return parts.filter((said) => said !== '').join(': ') || otherwise;
}
