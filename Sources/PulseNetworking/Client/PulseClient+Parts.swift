// SPDX-License-Identifier: MIT

import PulseCore

/// Options that name a part of the client: where that is missing, a call whose safety depends on it fails, and the
/// client warns of all others, once for each option.
extension PulseClient {
    /// Warns of the options that have no effect in this call. Throws ``PulseError/invalidRequest(reason:)`` for one
    /// that the caller relies on.
    ///
    /// - Parameter options: those of the call and its endpoint, without the configuration's.
    /// - Parameter isQueueable: whether the call may go to the offline queue.
    func checkParts(
        _ options: RequestOptions, _ method: HTTPMethod, isQueueable: Bool, _ pipeline: PluginPipeline
    ) throws {
        if options.queuesBehindPending == true, !isQueueable, offline != nil, !method.isSafe {
            // It would overtake the calls that it is to follow.
            throw PulseError.invalidRequest(
                reason: "queuesBehindPending needs an endpoint with isQueueableWhenOffline")
        }
        for text in optionsWithoutParts(options, isQueueable: isQueueable, pipeline) {
            environment.warnings.emit(text, to: environment.events)
        }
    }

    private func optionsWithoutParts(
        _ options: RequestOptions, isQueueable: Bool, _ pipeline: PluginPipeline
    ) -> [String] {
        var texts: [String] = []
        if options.cache ?? .default != .default, options.cache != .onlyIfCached, !pipeline.has("com.pulse.cache") {
            texts.append("the option `cache` has no effect: the client has no cache plugin")
        }
        if options.coalesces == true, !pipeline.has("com.pulse.coalescing") {
            texts.append("the option `coalesces` has no effect: the client has no coalescing plugin")
        }
        if options.queuesBehindPending == true, offline == nil {
            texts.append("the option `queuesBehindPending` has no effect: the client has no offline queue")
        } else if options.queuesBehindPending == true, !isQueueable {
            texts.append("the option `queuesBehindPending` has no effect on a call that is not queueable when offline")
        }
        if options.waitsForConnectivity == true, !pipeline.has("com.pulse.retry") {
            texts.append(
                "the option `waitsForConnectivity` has no effect: a retry plugin of your own is in the loop's place")
        }
        if options.connectTimeout != nil, hasNoConnectTimeout {
            texts.append(
                "the option `connectTimeout` has no effect: URLSessionTransport counts connecting as idle time")
        }
        return texts
    }
}

extension PluginPipeline {
    /// Whether a plugin of that name is among them: the library's own, or one that takes its place under its name.
    fileprivate func has(_ identifier: String) -> Bool {
        plugins.contains { $0.identifier == identifier }
    }
}
