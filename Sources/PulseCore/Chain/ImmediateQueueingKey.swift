// SPDX-License-Identifier: MIT

/// Whether the offline queue takes the call at its first failed connection: retries would only delay that.
package enum ImmediateQueueingKey: PluginContext.Key {
    package typealias Value = Bool
}
