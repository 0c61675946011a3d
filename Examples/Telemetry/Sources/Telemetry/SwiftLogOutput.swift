// SPDX-License-Identifier: MIT

import Logging
import PulseKit

/// Events as lines of swift-log.
struct SwiftLogOutput: EventLogSink.Output {
    let logger: Logging.Logger

    func write(_ record: EventLogSink.Record) {
        logger.log(
            level: Logging.Logger.Level(rawValue: "\(record.level)") ?? .info, "\(record.message)",
            metadata: record.metadata.mapValues { .string($0) })
    }
}
