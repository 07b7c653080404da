import type { Client } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/codec-helpers.js';

/** What a description of a workflow has of a failure: its message may be encoded. */
type StoredFailure = Parameters<typeof decodeOptionalFailureToOptionalError>[1];

/** Returns the failure as the activity has thrown it; undefined without one. */
export const readFailure = (client: Client, failure: StoredFailure): Promise<Error | undefined> =>
  decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure);
