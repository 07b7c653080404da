import { CORRECT_DRIFT_ANNOTATION } from '../../../api/labels-and-annotations.ts';

/** Reports whether a user has ordered that the drift that this VM has now is corrected. */
export const isCorrectionRequested = (annotations: Readonly<Record<string, string>> | undefined): boolean =>
  annotations?.[CORRECT_DRIFT_ANNOTATION] !== undefined;
