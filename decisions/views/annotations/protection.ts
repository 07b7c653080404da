import { PROTECT_ANNOTATION } from '../../../api/labels-and-annotations.ts';

/**
 * Reports whether an object's annotations protect it from scale-in. A mistyped value protects as well: a VM that stays
 * is noticed, while a lost VM can't be brought back.
 */
export const isProtected = (annotations: Readonly<Record<string, string>> | undefined): boolean =>
  (annotations?.[PROTECT_ANNOTATION] ?? 'false') !== 'false';
