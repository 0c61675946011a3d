// SPDX-License-Identifier: MIT

import Logging
import PulseKit

/// Events as lines of swift-log.
struct SwiftLogOutput: EventLogOutput {
    let logger: Logging.Logger

    func write(_ record: EventLogRecord) {
        logger.log(
            level: Logging.Logger.Level(rawValue: "\(record.level)") ?? .info, "\(record.message)",
            metadata: record.metadata.mapValues { .string($0) })
    }
}
