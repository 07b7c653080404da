import { DefaultFailureConverter } from '@temporalio/common';

/** Has payload codecs encode messages and stack traces of errors, too. Temporal loads this module by its path. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
