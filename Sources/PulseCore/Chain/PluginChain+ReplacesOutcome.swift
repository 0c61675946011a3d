// SPDX-License-Identifier: MIT

extension PluginChain {
    // A separate protocol, for the same reason as `RequestOptions.WholeSecondTimeout`.
    /// The form of ``PulsePlugin/didReceive(_:for:)`` without the `?`, for a plugin that always returns an outcome.
    ///
    /// Every ``PulsePlugin`` may implement either form. If it implements both, the optional one is called.
    public protocol ReplacesOutcome {
        /// Sees the outcome on its way out, and returns its replacement.
        func didReceive(
            _ result: Result<PulseResponse, PulseError>, for context: PluginContext
        ) async throws -> Result<PulseResponse, PulseError>
    }
}

extension PluginChain.ReplacesOutcome {
    public func didReceive(
        _ result: Result<PulseResponse, PulseError>, for context: PluginContext
    ) async throws -> Result<PulseResponse, PulseError> {
        result
    }
}

/// Calls the method through its protocol, where its type is unambiguous.
func replacement(
    by plugin: some PluginChain.ReplacesOutcome, of result: Result<PulseResponse, PulseError>,
    for context: PluginContext
) async throws -> Result<PulseResponse, PulseError> {
    try await plugin.didReceive(result, for: context)
}
