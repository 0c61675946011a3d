// SPDX-License-Identifier: MIT

import PulseKit

struct Repository: Codable, Sendable {
    let id: Int
    let name: String
}
